"""The theorems, by kind of object. Importing this package registers them all, in this order."""

from importlib import import_module

MODULES = (
    "application application_data builder constrained fits geometry_metric geometry_motion"
    " geometry_oracles geometry_points geometry_pymanopt geometry_words loss measurement method_answers"
    " method_claims method_protocol problem_abilities problem_claims problem_derivatives"
    " problem_models problem_moves problem_samples split term"
)
for _name in MODULES.split():
    import_module(f"{__name__}.{_name}")
