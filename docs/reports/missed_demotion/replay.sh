#!/bin/sh
# Finds the history, and every search that the library has of the failure:
check kafka --protocol 4.1 --bound 13 --elections 3 --preferred-elections 1 --fencings 1 --set start_isr=7 --switch EQUAL_PARTITION_EPOCH_REPLACES=off --details
check failures 8.24
# Takes the steps of the history again, and replays them on an executable cluster:
trace show history.itf.json
conform replay history.itf.json
# The searches with the change:
check kafka --protocol 2.1 --records 1 --log-size 1 --elections 3 --bounces 0 --crashes 0 --preferred-elections 1 --switch REMOTE_OFFSETS_KEPT_BY_REELECTED_LEADER=off --details
check kafka --protocol 2.1 --preferred-elections 1 --switch REMOTE_OFFSETS_KEPT_BY_REELECTED_LEADER=off --details
check kafka --protocol 4.1 --bound 14 --elections 3 --preferred-elections 1 --fencings 1 --set start_isr=7 --switch EQUAL_PARTITION_EPOCH_REPLACES=off --switch REMOTE_OFFSETS_KEPT_BY_REELECTED_LEADER=off --details
# Explains the recordings of real clusters; ISRCHECK is the folder with the sources of isrcheck:
conform follow "$ISRCHECK"/conformance/recordings/wire/missed_demotion --protocol 3.7
conform follow "$ISRCHECK"/conformance/recordings/wire/missed_demotion_frozen --protocol 3.7
conform follow "$ISRCHECK"/conformance/recordings/wire/missed_demotion_control --protocol 3.7
conform follow "$ISRCHECK"/conformance/recordings/kafka-4.5/missed_demotion_frozen --protocol 4.1
