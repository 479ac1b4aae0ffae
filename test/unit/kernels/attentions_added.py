"""Attentions with something added to their scores that is computed from several arrays."""

import numpy as np

ADDED = {
    "distances": 1, "image_places": 2, "places_and_mask": 2, "masked_bias": 2, "windows": 2, "two_tables": 2,
    "both_distances": 1, "near_diagonal": 2,
}  # fmt: skip
"""Programs (`attentions`), and how many arrays are read for it."""


def given_to(site):
    """Inputs of a site's problem."""
    rng = np.random.default_rng(0)
    kinds = {"f16": np.float16, "f32": np.float32}

    def values(array):
        drawn = rng.standard_normal(array.shape)
        return drawn < 0.6 if array.element_type == "i1" else drawn.astype(kinds[array.element_type])

    return [values(each) for each in site.problem.inputs]
