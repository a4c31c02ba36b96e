"""The progress bar shows iteration, value and stationarity on standard error, and nothing unless wanted."""

from psdopt.running.progress import progress_bar


def test_the_bar_starts_at_the_given_iteration_and_shows_the_numbers(capsys):
    with progress_bar(True, "a run", iteration=5) as bar:
        bar(7, 1.25, 3e-4)
        bar(9, -2.5, 1e-6)
    out, err = capsys.readouterr()
    assert out == ""
    assert "a run: 9 iterations" in err
    assert "value -2.5, stationarity 1.0e-06" in err


def test_no_bar_unless_wanted(capsys):
    with progress_bar(False, "a run") as bar:
        bar(7, 1.25, 3e-4)
    assert capsys.readouterr() == ("", "")
