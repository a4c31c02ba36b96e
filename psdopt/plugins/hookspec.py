"""The one hook of psdopt: a plugin yields what it contributes, as typed specs."""

from __future__ import annotations

from collections.abc import Iterable

import pluggy

from psdopt.plugins.specs import Spec

#: Name of the pluggy project and of the entry-point group.
GROUP = "psdopt"

hookspec = pluggy.HookspecMarker(GROUP)
#: Marks a function of a plugin as the implementation of the hook of the same name.
hookimpl = pluggy.HookimplMarker(GROUP)


class PsdoptHooks:
    """The hooks that a plugin may implement."""

    @hookspec
    def psdopt_components(self) -> Iterable[Spec]:
        """Yield what the plugin contributes: applications, geometries, methods, problems, data sets.

        A plugin is a module named in the entry-point group ``psdopt`` of its package::

            # pyproject.toml
            [project.entry-points.psdopt]
            my_plugin = "my_package.my_plugin"

            # my_package/my_plugin.py
            from psdopt.plugins import MethodSpec, Parameter, hookimpl

            @hookimpl
            def psdopt_components():
                from my_package.gradient_descent import GradientDescent  # late: listing names stays cheap

                yield MethodSpec(
                    name="gradient-descent",
                    factory=GradientDescent,
                    summary="Steepest descent on the factor with the exact step",
                    parameters=(Parameter("restart", int, 50, "iterations between restarts"),),
                    example=GradientDescent,
                )

        Called once, when names are first needed; never during a run.
        """
        raise NotImplementedError
