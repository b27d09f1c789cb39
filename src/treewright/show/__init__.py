"""Trees for people to read: as indented text and as rules."""

from treewright.show.rules import Rule, RuleList, disjunction, rules
from treewright.show.text import draw, show

__all__ = ["Rule", "RuleList", "disjunction", "draw", "rules", "show"]
