"""Measuring the experiments of papers, storing the results, and comparing them with the papers' figures."""
