"""A scheme's rule for rates, tried in Python before it is written in Rust."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tailrace._tailrace import Prospect


class Rule:
    """How flows share links, where rates are all there is: ``scenario.run(rule=MyRule())``, at flow level.

    Flows of lower rank go first wherever they meet others; those of equal rank share by their weights
    (max-min). Subclasses say what is not so for them; only methods that they have are called, for each flow
    that comes and whenever its rank may have changed, which takes some microseconds each.

    >>> import tailrace
    >>> class Shortest(tailrace.Rule):
    ...     follows_progress = True
    ...
    ...     def rank(self, flow):
    ...         return flow.left
    """

    knows_sizes = True
    """Whether ``size``, ``left`` and ``task_size`` of flows are told; else, and where a flow does not
    reveal its size, they are None."""

    knows_deadlines = True
    """Whether ``deadline_s`` is told."""

    follows_progress = False
    """Whether ranks change as flows progress: they are asked for anew whenever a flow comes that meets
    others."""

    def rank(self, flow: Prospect) -> int | tuple[int, int]:
        """The flow's place in the order of service, a number from 0 to 2**64 - 1, or two of them."""
        return 0

    def weight(self, flow: Prospect) -> float:
        """How much the flow counts beside others of its rank."""
        return 1.0

    def stays_until(self, flow: Prospect) -> int | None:
        """Payload bytes sent, up to which the flow keeps its rank, before it is asked for anew."""
        return None

    def due(self, flow: Prospect) -> float | None:
        """When the flow is to end, in seconds: as long as that is to come, it gets no more than it needs."""
        return None
