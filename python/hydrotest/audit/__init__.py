"""What a benchmark's output really measured. `readers` turn each tool's text into claims, `checks` hold the figures of a
claim against each other, and `report.audit` says what was found. Nothing here knows what the system was."""
