"""The words for what is found (`hydrotest.verdicts`): a module for each of its modules. `summary` fills them into the
summary."""
