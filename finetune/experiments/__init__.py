"""Systems x tracks x seeds from one file, and the report on them: `python -m finetune.experiments`."""
