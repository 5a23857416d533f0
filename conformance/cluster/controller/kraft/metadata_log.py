"""The metadata log: every record that the controller has written.

In:  records of the partition, of brokers, and of min.insync.replicas.
Out: the metadata after each record; a message to every running broker.

A record stands for one offset. A broker can have read the log up to any record: the records of one change are not
always in one batch (ControllerResult.of). Source: fact sheet, section 4.8.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from isrcheck.conformance.cluster.network.metadata_messages import (
    BrokerRegistration,
    MetadataImage,
    PartitionRegistration,
)
from isrcheck.conformance.cluster.network.network import CONTROLLER, Network


class MetadataLog:
    """The metadata after each record, by offset; offset 0 is what the log begins with."""

    def __init__(self, first: MetadataImage, network: Network, process_of: Callable[[int], int]) -> None:
        """`process_of` gives the number of a broker's running process; 0 if none runs."""
        self._images = [first]
        self._network = network
        self._process_of = process_of

    @property
    def images(self) -> tuple[MetadataImage, ...]:
        """The metadata after each record."""
        return tuple(self._images)

    @property
    def now(self) -> MetadataImage:
        """The metadata after the last record."""
        return self._images[-1]

    def registered_at(self, broker: int) -> int:
        """The offset of the record with which a broker's present registration began."""
        epoch = self.now.brokers[broker].broker_epoch
        return next(image.offset for image in self._images if image.brokers[broker].broker_epoch == epoch)

    def write_partition(self, partition: PartitionRegistration) -> None:
        """Append a record of the partition."""
        self._append(replace(self.now, partition=partition))

    def write_broker(self, broker: int, registration: BrokerRegistration) -> None:
        """Append a record of a broker."""
        brokers = (*self.now.brokers[:broker], registration, *self.now.brokers[broker + 1 :])
        self._append(replace(self.now, brokers=brokers))

    def write_min_insync_replicas(self, least: int, partition: PartitionRegistration) -> None:
        """Append a record of min.insync.replicas, and the record of the partition that comes with it: brokers read
        both at once, because both are in one batch (ControllerResult.atomicOf).
        """
        self._append(replace(self.now, min_insync_replicas=least, partition=partition))

    def _append(self, image: MetadataImage) -> None:
        image = replace(image, offset=self.now.offset + 1)
        self._images.append(image)
        for broker in range(len(image.brokers)):
            if process := self._process_of(broker):
                self._network.send(CONTROLLER, broker, image, destination_process=process)
