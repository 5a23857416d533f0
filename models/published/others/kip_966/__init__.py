"""KIP-966, eligible leader replicas, as Jack Vanlightly has specified it: `PARTS`, the modules of one model.

After kafka_data_replication/kraft/kip-966 of github.com/Vanlightly/kafka-tlaplus (commit 823615e8, 2025-01-24). An ISR
may become empty here; who leaves an ISR below the minimum becomes eligible (ELR), and only an ISR of the minimum size
commits. Its author reports no counts, because the state space is too large; he reports that the invariants of the model
file hold, that NoCommittedRecordLostGlobally fails once as many replicas have lost their logs as min.insync.replicas,
and that TLC finds a counterexample without each condition that is marked CHECK. Three of these are switches here.

The same: every state and step, with offsets counted from 0 and as many replicas as brokers. Different: a metadata
record is identified by its partition epoch, so that the copy of the metadata log on a broker is a position, and
MetadataLogMatchingProperty is true by construction. A follower and a leader have one fetch on the way between them. A
request to change the ISR is identified by the partition epoch at which it was sent, the proposed ISR, and the broker
epochs of those that join. A broker epoch is the number of a registration. As in the original, `is_delayed` is set after
an error and never read: a follower asks again at once. Left out: reassignments (ReassignmentLimit = 0, as in the model
file), liveness, and a minimum ISR of 1.

Where Kafka 4.1 does something else (org.apache.kafka.controller, kafka.cluster.Partition):

- A broker that registers stays fenced until its heartbeats show that it has caught up with the metadata. Here it is
  unfenced, and may be elected, as soon as it registers. Heartbeats and controlled shutdowns are left out.
- An unclean shutdown is noticed because the broker epoch that the broker sends is not the one that the controller has
  recorded. Here the broker sends none.
- The controller elects the first valid replica in the order of the assignment. Here it elects any.
- While the ISR is below the minimum, a member of the ELR that joins it leaves the ELR. Here it stays in both, which
  needs a minimum of 3 to be seen.
- The last known ELR is one replica: the last leader, which is elected if ISR and ELR are empty. Here it is the set of
  all that were removed from the ELR, and nobody is elected from it: the recovery that compares logs is not specified,
  and Kafka has not implemented it.
- A record is appended only if the committed ISR has the minimum size; the maximal ISR decides on acknowledgements.
  Here the maximal ISR decides on appending.
- The high watermark also waits for a replica outside the maximal ISR that is caught up and may join. A truncation
  lowers the high watermark of a follower to the end of its log. Here neither does.
"""

from isrcheck.models.published.others.kip_966 import actions, promises, state

PARTS = (state, actions, promises)
