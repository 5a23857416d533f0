"""A cluster of the model kafka that a test drives step by step."""

from conformance.tests.support.golden import read_step
from isrcheck.models.kafka.generations import MODEL
from isrcheck.models.run import State, take


class Driven:
    """A cluster with one initial state, and the state that the steps have led to."""

    def __init__(self, protocol, **values):
        self.instance = MODEL.instance(protocol, values)
        (self.cells,) = self.instance.initial_states

    @property
    def state(self):
        return State(self.instance, self.cells)

    def after(self, text):
        """The state after a step, or None if it is not possible."""
        return take(self.instance, self.cells, read_step(self.instance, text))

    def can(self, text):
        return self.after(text) is not None

    def do(self, *texts):
        for text in texts:
            cells = self.after(text)
            assert cells is not None, f"`{text}` is not possible"
            self.cells = cells
        return self
