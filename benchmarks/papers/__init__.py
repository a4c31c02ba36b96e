"""Five papers, a race on semidefinite programs, and what rounding changes: ``python -m benchmarks reproduce``."""

from benchmarks.papers.catalogue_bilgo import BILGO
from benchmarks.papers.catalogue_kernels import KERNELS
from benchmarks.papers.catalogue_kl_admm import KL_ADMM
from benchmarks.papers.catalogue_learners import LEARNERS
from benchmarks.papers.catalogue_lro import LRO
from benchmarks.papers.catalogue_psdboost import PSDBOOST
from benchmarks.papers.catalogue_regression import REGRESSION
from benchmarks.papers.catalogue_sdp import SDP

#: The tables and figures, paper by paper; what measures them is imported when it is asked for.
EXPERIMENTS = (*BILGO, *KERNELS, *KL_ADMM, *LEARNERS, *LRO, *PSDBOOST, *REGRESSION, *SDP)
