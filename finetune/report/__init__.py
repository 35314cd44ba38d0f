"""From predictions to scores, results, figures and the card of a run."""
