"""Measuring the experiments of papers, keeping what was measured, and showing it beside the papers' figures."""
