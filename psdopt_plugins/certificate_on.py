"""certificate_on: how far the matrix of a learner is from the best one for rows that somebody gives."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import wraps
from typing import Any, Concatenate, ParamSpec

import numpy as np
from sklearn.utils.validation import check_is_fitted

from psdopt import Certificate, LowRankPSD, Problem, certify
from psdopt.devices import on_host

Given = ParamSpec("Given")

#: What holds for all learners: the end of the docstring of each ``certificate_on``.
COMMON = """
        The :func:`psdopt.certify` of M = components_ᵀ components_ for F over all M ⪰ 0 of any rank. ``gap`` bounds
        F(M) − min F, and ``gap_relative`` is this bound over the certificate's unit, a decrease of F from 0 to M;
        infinite where 0 is no worse than M. Both are None where nothing is proven, as far from the minimum where rows
        are few for their features. On rows that were not seen, the gap counts what their own minimiser gains
        by fitting them alone. At any time, after :meth:`fit` as well; the learner does not change. Beyond F itself
        O(d³), and up to d = 64 O(q d⁴) for up to q = 10⁴ measurements. Raises NotFittedError, and what :meth:`fit`
        raises for rows. Features on which F does not depend, since they are the same in all rows, are left out of the
        certificate.
        """


def on_rows(
    objective: Callable[Concatenate[Any, Given], Problem | tuple[Problem, Any]],
) -> Callable[Concatenate[Any, Given], Certificate]:
    """The method ``certificate_on`` of a learner, from its `objective`: (self, rows, ...) ↦ F over these rows.

    Or ↦ (F, kept) for an F of the features `kept` (d,) alone, where no other changes it: its minimum, and its value at
    M, are then the same. A decorator: arguments and the first lines of the docstring, which say what F is, are those of
    the objective.
    """

    @wraps(objective)
    def certificate_on(self: Any, /, *rows: Given.args, **given: Given.kwargs) -> Certificate:
        check_is_fitted(self)
        found = objective(self, *rows, **given)
        F, kept = found if isinstance(found, tuple) else (found, slice(None))
        return certify(F, LowRankPSD(np.ascontiguousarray(on_host(self.components_)[:, kept].T)))

    signature = inspect.signature(objective).replace(return_annotation=Certificate)
    said: Any = certificate_on
    said.__signature__, said.__doc__ = signature, f"{(objective.__doc__ or '').rstrip()}\n{COMMON}"
    return certificate_on
