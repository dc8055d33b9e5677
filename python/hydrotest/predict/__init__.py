"""Predictions: from measured runs to loads and machines that were not measured."""
