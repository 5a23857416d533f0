"""A user's own broker: two replicas in memory, and a driver with which `conform replay` compares them to the model.

conform replay --driver own_broker.py --walks 200 --set replicas=2 --set elections=0 --set bounces=0 --set crashes=0
"""

from types import SimpleNamespace

from isrcheck.conformance.replay.system import StepRefusedError


class Driver:
    def begin(self, trace):
        """Set up broker 0 as leader and broker 1 as follower; both are in the ISR, and min.insync.replicas is 2."""
        self.leader, self.follower = (SimpleNamespace(log=[], high_watermark=0) for _ in range(2))
        self.follower_end, self.in_sync = 0, True  # what the leader knows of its follower
        self.response = None

    def take(self, step):
        """Take one step of the model: its action names a method of this class, its arguments are numbers of brokers."""
        if not hasattr(self, step.action):
            raise StepRefusedError(f"my broker has no action {step.action}")
        getattr(self, step.action)(*step.ordinals)

    def observe(self):
        """Return values of the model's variables, by name; missing variables and None values are not compared."""
        return {
            "log_end_offset": [len(self.leader.log), len(self.follower.log)],
            "high_watermark": [self.leader.high_watermark, self.follower.high_watermark],
            "remote_log_end_offset": [[None, self.follower_end], None],
            "controller_isr": [True, self.in_sync],
        }

    def producer_appends(self, leader):
        self.leader.log.append("a record")

    def producer_is_refused(self, leader):
        assert not self.in_sync

    def leader_handles_fetch(self, leader, follower):
        high_watermark_before = self.leader.high_watermark
        self.follower_end = len(self.follower.log)
        self.in_sync = self.in_sync or self.follower_end >= self.leader.high_watermark
        self.leader.high_watermark = max(self.leader.high_watermark, self.follower_end)
        self.response = (self.leader.log[self.follower_end :], high_watermark_before)

    def leader_answers_parked_fetch(self, leader, follower):
        self.response = (self.leader.log[len(self.follower.log) :], self.leader.high_watermark)

    def leader_shrinks_isr(self, leader, removed):
        self.in_sync = False
        self.leader.high_watermark = len(self.leader.log)

    def follower_applies_response(self, follower, leader):
        records, high_watermark = self.response
        self.follower.log += records
        self.follower.high_watermark = min(high_watermark, len(self.follower.log))

    def response_is_lost(self, follower, leader):
        self.response = None
