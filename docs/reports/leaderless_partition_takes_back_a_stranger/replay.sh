#!/bin/sh
# Finds the history, and every search that the library has of the failure:
check kafka --protocol 4.3 --bound 6 --replicas 2 --elections 3 --partition-changes 4 --crashes 0 --fencings 2 --reassignments 2 --set start_isr=3 --set common_records=1 --switch EQUAL_PARTITION_EPOCH_REPLACES=off --switch EQUAL_PARTITION_EPOCH_ASSIGNS=on --switch REMOTE_OFFSETS_KEPT_BY_REELECTED_LEADER=off --details
check failures 8.29
# Takes the steps of the history again, and replays them on an executable cluster:
trace show history.itf.json
conform replay history.itf.json
# The searches with the change:
check kafka --protocol 4.3 --replicas 2 --elections 3 --partition-changes 4 --crashes 0 --fencings 2 --reassignments 2 --set start_isr=3 --set common_records=1 --switch ELR_WITHIN_REPLICAS=on --switch EQUAL_PARTITION_EPOCH_REPLACES=off --switch EQUAL_PARTITION_EPOCH_ASSIGNS=on --switch REMOTE_OFFSETS_KEPT_BY_REELECTED_LEADER=off --details
