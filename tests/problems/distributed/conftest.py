"""A real cluster of two processes, started once and closed with the last test of engines: its threads allocate."""

import pytest


@pytest.fixture(scope="package")
def cluster():
    distributed = pytest.importorskip("dask.distributed")
    with distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None, silence_logs=50
    ) as cluster:
        yield cluster


@pytest.fixture
def client(cluster):
    from dask.distributed import Client

    with Client(cluster) as client:
        yield client
