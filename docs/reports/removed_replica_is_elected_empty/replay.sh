#!/bin/sh
# Finds the history, and every search that the library has of the failure:
check kafka --protocol 4.3 --bound 4 --replicas 2 --elections 2 --crashes 0 --fencings 1 --reassignments 2 --set start_isr=3 --set replicas_of_partition_0=2 --set common_records=1 --switch EQUAL_PARTITION_EPOCH_REPLACES=off --switch EQUAL_PARTITION_EPOCH_ASSIGNS=on --switch REMOTE_OFFSETS_KEPT_BY_REELECTED_LEADER=off --details
check failures 8.27
# Takes the steps of the history again, and replays them on an executable cluster:
trace show history.itf.json
conform replay history.itf.json
# The searches with the change:
check kafka --protocol 4.3 --replicas 2 --elections 2 --crashes 0 --fencings 1 --reassignments 2 --set start_isr=3 --set replicas_of_partition_0=2 --set common_records=1 --switch ELR_WITHIN_REPLICAS=on --switch EQUAL_PARTITION_EPOCH_REPLACES=off --switch EQUAL_PARTITION_EPOCH_ASSIGNS=on --switch REMOTE_OFFSETS_KEPT_BY_REELECTED_LEADER=off --details
check kafka --protocol 4.3 --replicas 2 --elections 2 --crashes 0 --fencings 1 --reassignments 2 --set start_isr=3 --set replicas_of_partition_0=2 --set common_records=1 --switch MIN_ISR_OF_OWN_REPLICAS=on --switch EQUAL_PARTITION_EPOCH_REPLACES=off --switch EQUAL_PARTITION_EPOCH_ASSIGNS=on --switch REMOTE_OFFSETS_KEPT_BY_REELECTED_LEADER=off --details
