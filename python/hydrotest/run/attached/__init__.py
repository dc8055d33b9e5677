"""Clusters that are there already: contact before a run, what ends it, what is made in them, and what killed runs left."""
