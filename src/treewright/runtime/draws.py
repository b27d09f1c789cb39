"""Random draws inside kernels, with one small generator per node, so that no draw depends on the order of work."""

from __future__ import annotations

import numpy as np

from treewright.runtime.kernels import kernel

GOLDEN = np.uint64(0x9E3779B97F4A7C15)
MIX_1 = np.uint64(0xBF58476D1CE4E5B9)
MIX_2 = np.uint64(0x94D049BB133111EB)


@kernel
def scramble(state):
    """Compute the output step of SplitMix64 (Steele, Lea and Flood 2014)."""
    state = (state ^ (state >> np.uint64(30))) * MIX_1
    state = (state ^ (state >> np.uint64(27))) * MIX_2
    return state ^ (state >> np.uint64(31))


@kernel
def seed_of_branch(seed, branch):
    """Return the seed of a child, which depends on its parent's seed and its branch only."""
    return scramble(seed + GOLDEN * np.uint64(branch + 1))


@kernel
def draw_bits(state):
    """Advance the one-element `state` and return 64 random bits."""
    state[0] += GOLDEN
    return scramble(state[0])


@kernel
def draw_below(state, limit):
    """Draw a whole number from 0 to limit - 1; the bias of the remainder is below limit / 2**64."""
    return np.int64(draw_bits(state) % np.uint64(limit))


@kernel
def draw_share(state):
    """Draw a number in [0, 1) with 53 random bits."""
    return np.float64(draw_bits(state) >> np.uint64(11)) * (1.0 / 9007199254740992.0)
