"""The tests of an experiment file, a module for each or for some that are alike."""
