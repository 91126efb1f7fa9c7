"""The three things a coding assistant does all day: edit a file, write new code, explain in prose."""

INVENTORY = '''\
"""Keep count of what is in the store."""

from collections import defaultdict


class Inventory:
    """Quantities of articles, by name."""

    def __init__(self, data=None):
        self.stock = defaultdict(int)
        for name, quantity in (data or {}).items():
            self.stock[name] = quantity

    def add(self, name, quantity=1):
        """Put articles into the store."""
        if quantity < 0:
            raise ValueError("cannot add a negative quantity")
        self.stock[name] += quantity
        return self.stock[name]

    def remove(self, name, quantity=1):
        """Take articles out of the store."""
        if quantity > self.stock[name]:
            raise ValueError(f"only {self.stock[name]} of {name} left")
        self.stock[name] -= quantity
        if self.stock[name] == 0:
            del self.stock[name]
        return quantity

    def total(self):
        """How many articles there are, all together."""
        return sum(self.stock.values())

    def missing(self, wanted):
        """What has to be bought so that everything wanted is there."""
        result = {}
        for name, quantity in wanted.items():
            lacking = quantity - self.stock.get(name, 0)
            if lacking > 0:
                result[name] = lacking
        return result

    def report(self):
        """A table with one line per article, sorted by name."""
        lines = []
        for name in sorted(self.stock):
            lines.append(f"{name:20} {self.stock[name]:6}")
        lines.append(f"{'total':20} {self.total():6}")
        return "\\n".join(lines)
'''

WORKLOADS = {
    "edit": (
        "Rename the parameter `quantity` of the methods add and remove to `amount` in this file. "
        f"Answer with the whole changed file and nothing else.\n\n```python\n{INVENTORY}```"
    ),
    "code": (
        "Write a Python module with a class `RateLimiter` (token bucket, thread-safe, with a blocking `acquire` and a "
        "`try_acquire`), and a decorator `limited(rate, burst)` that uses it. Include docstrings and type hints."
    ),
    "prose": (
        "Explain to a junior developer, in plain prose without any code, what a hash table is, why look-ups take "
        "constant time on average, what collisions are and how they are resolved, and when a tree is the better choice."
    ),
}
