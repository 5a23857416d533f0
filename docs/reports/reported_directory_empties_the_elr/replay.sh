#!/bin/sh
# Finds the history, and every search that the library has of the failure:
check kafka --protocol 4.1 --bound 10 --replicas 2 --elections 2 --partition-changes 5 --crashes 0 --power-losses 1 --fencings 1 --set directory_reports=1 --set start_isr=3 --switch EQUAL_PARTITION_EPOCH_REPLACES=off --switch EQUAL_PARTITION_EPOCH_ASSIGNS=on --switch REMOTE_OFFSETS_KEPT_BY_REELECTED_LEADER=off --details
check failures 8.38
# Takes the steps of the history again, and replays them on an executable cluster:
trace show history.itf.json
conform replay history.itf.json
# The searches with the change:
check kafka --protocol 4.3 --replicas 2 --elections 2 --partition-changes 5 --crashes 0 --power-losses 1 --fencings 1 --set directory_reports=1 --set start_isr=3 --switch EQUAL_PARTITION_EPOCH_REPLACES=off --switch EQUAL_PARTITION_EPOCH_ASSIGNS=on --switch REMOTE_OFFSETS_KEPT_BY_REELECTED_LEADER=off --details
