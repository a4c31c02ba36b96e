"""What is measured of semidefinite programs: SDPLIB's and random ones of its families, beside other solvers."""

from __future__ import annotations

from benchmarks.reproduction.experiments import Experiment, ExperimentSpec

REFERENCE = "Borchers: SDPLIB 1.2, a library of semidefinite programming test problems (1999)"


def _sdplib() -> Experiment:
    from benchmarks.papers.sdp_programs import sdplib

    return sdplib()


def _peers() -> Experiment:
    from benchmarks.papers.sdp_race import peers

    return peers()


def _graphs() -> Experiment:
    from benchmarks.papers.sdp_programs import graphs

    return graphs()


def _families() -> Experiment:
    from benchmarks.papers.sdp_programs import families

    return families()


def _sensors() -> Experiment:
    from benchmarks.papers.sensor_networks import networks

    return networks()


SDP = (
    ExperimentSpec(
        "sdp-peers",
        _peers,
        "seconds beside SDPA, SCS, Clarabel and pymanopt",
        REFERENCE,
        paper="sdp",
        title="Beside other solvers",
        differences="psdopt proves relative gap and infeasibility below 1e-6, and its seconds include the proof. "
        "SDPA runs to its own errors of 1e-7, SCS at eps=1e-6 and Clarabel at its defaults through CVXPY from a fresh "
        "model. pymanopt's trust regions prove nothing.",
    ),
    ExperimentSpec(
        "sdp-graphs",
        _graphs,
        "cuts, partitions and Lovász's number of random graphs",
        REFERENCE,
        paper="sdp",
        title="Random graphs",
    ),
    ExperimentSpec(
        "sdp-families",
        _families,
        "random programs of SDPLIB's other families",
        REFERENCE,
        paper="sdp",
        title="Random programs of SDPLIB's families",
    ),
    ExperimentSpec(
        "sdp-sdplib",
        _sdplib,
        "every program of SDPLIB's part that PSDOPT_SDPLIB names",
        REFERENCE,
        paper="sdp",
        title="SDPLIB",
    ),
    ExperimentSpec(
        "sdp-sensors",
        _sensors,
        "positions of 150 to 1,000 sensors from distances",
        "Biswas, Ye: Semidefinite programming for ad hoc wireless sensor network localization, IPSN (2004)",
        paper="sdp",
        title="Sensor networks",
    ),
)
