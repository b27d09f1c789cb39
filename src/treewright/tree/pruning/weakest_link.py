"""Weakest-link pruning: the order in which the inner nodes of a tree become leaves, and the alpha of each step."""

from __future__ import annotations

from treewright.runtime.kernels import entry, kernel
from treewright.runtime.signatures import Input, Integers, Reals, Reals2, Wholes


@kernel
def price(node, risk, below, leaves):
    """Compute how much a subtree reduces the risk of its node per additional leaf (Breiman et al. 1984)."""
    return max((risk[node] - below[node]) / (leaves[node] - 1), 0.0)


@kernel
def cheaper(a, b, prices):
    return prices[a] < prices[b] or (prices[a] == prices[b] and a > b)


@kernel
def sift(heap, place, prices, at, size):
    """Move the entry at this position of the heap up or down to its right position."""
    node = heap[at]
    while at > 0 and cheaper(node, heap[(at - 1) // 2], prices):
        heap[at] = heap[(at - 1) // 2]
        place[heap[at]] = at
        at = (at - 1) // 2
    while 2 * at + 1 < size:
        child = 2 * at + 1
        if child + 1 < size and cheaper(heap[child + 1], heap[child], prices):
            child += 1
        if not cheaper(heap[child], node, prices):
            break
        heap[at] = heap[child]
        place[heap[at]] = at
        at = child
    heap[at] = node
    place[node] = at


@kernel
def take_out(node, heap, place, prices, size):
    """Remove a node from the heap; returns the new size."""
    at = place[node]
    place[node] = -1
    size -= 1
    if at < size:
        heap[at] = heap[size]
        place[heap[at]] = at
        sift(heap, place, prices, at, size)
    return size


@entry
def order_of_pruning(
    parent: Input[Wholes],
    first_child: Input[Integers],
    n_children: Input[Integers],
    risk: Input[Reals],
    below: Reals,
    leaves: Wholes,
    prices: Reals,
    heap: Wholes,
    place: Wholes,
    stack: Wholes,
    ccp_alphas: Reals,
    steps: Reals2,
) -> int:
    """Prune the tree link by link, the weakest first, until only the root remains.

    Writes into `ccp_alphas` the alpha at which each inner node disappears or becomes a leaf. Writes into `steps` one
    line per step: alpha, number of leaves, and risk. The other arrays are the workspace, with one entry per node.
    Returns the number of steps.
    """
    size = 0
    for node in range(len(risk) - 1, -1, -1):
        place[node] = -1
        below[node], leaves[node] = (risk[node], 1) if n_children[node] == 0 else (0.0, 0)
        for child in range(first_child[node], first_child[node] + n_children[node]):
            below[node] += below[child]
            leaves[node] += leaves[child]
        if n_children[node] > 0:
            prices[node] = price(node, risk, below, leaves)
            heap[size] = node
            place[node] = size
            size += 1
            sift(heap, place, prices, size - 1, size)
    ccp_alpha = 0.0
    n_steps = 0
    while size > 0:
        weakest = heap[0]
        ccp_alpha = max(ccp_alpha, prices[weakest])
        saved, fewer = risk[weakest] - below[weakest], leaves[weakest] - 1
        above = weakest
        while above >= 0:
            below[above] += saved
            leaves[above] -= fewer
            if above != weakest:
                prices[above] = price(above, risk, below, leaves)
                sift(heap, place, prices, place[above], size)
            above = parent[above]
        stack[0] = weakest
        waiting = 1
        while waiting > 0:
            waiting -= 1
            node = stack[waiting]
            if n_children[node] == 0 or place[node] < 0:
                continue
            size = take_out(node, heap, place, prices, size)
            ccp_alphas[node] = ccp_alpha
            for child in range(first_child[node], first_child[node] + n_children[node]):
                stack[waiting] = child
                waiting += 1
        steps[n_steps, 0], steps[n_steps, 1], steps[n_steps, 2] = ccp_alpha, leaves[0], below[0]
        n_steps += 1
    return n_steps
