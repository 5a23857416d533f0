#!/bin/sh
# Finds the history, and every search that the library has of the failure:
check kafka --protocol 4.1 --bound 12 --details
check failures 8.25
# Takes the steps of the history again, and replays them on an executable cluster:
trace show history.itf.json
conform replay history.itf.json
# The searches with the change:
check kafka --protocol 4.1 --switch EQUAL_PARTITION_EPOCH_REPLACES=off --details
check kafka --protocol 3.7 --switch EQUAL_PARTITION_EPOCH_REPLACES=off --details
check kafka --protocol 3.7 --elections 2 --partition-changes 5 --crashes 0 --switch EQUAL_PARTITION_EPOCH_REPLACES=off --details
check kafka --protocol 3.7 --elections 2 --partition-changes 4 --switch EQUAL_PARTITION_EPOCH_REPLACES=off --details
# Explains the recordings of real clusters; ISRCHECK is the folder with the sources of isrcheck:
conform follow "$ISRCHECK"/conformance/recordings/wire/stale_record --protocol 3.7
conform follow "$ISRCHECK"/conformance/recordings/wire/stale_record_three_controllers --protocol 3.7
conform follow "$ISRCHECK"/conformance/recordings/wire/stale_record_control --protocol 3.7
conform follow "$ISRCHECK"/conformance/recordings/kafka-4.5/stale_record --protocol 4.3
