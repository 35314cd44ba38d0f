"""Where an encoder comes from: Hub folders, word vectors, label words for the prompt."""
