"""Operations on logs, shared by the models whose replicas have logs.

A model that uses these operations declares the fields `log_record[replica][offset]`, `log_epoch[replica][offset]` and
`log_end_offset[replica]`, and the bounds `replicas` and `log_size`. Cells outside a log hold NONE: those from the log
end offset on and, in a model with log start offsets, those below the log start offset.
"""

from isrcheck.models.language import NONE


def has_entry(s, r, offset):
    return offset < s.log_end_offset[r] and s.log_record[r][offset] != NONE


def same_entry(s, a, b, offset):
    """Whether both replicas hold the same entry at this offset."""
    return (
        has_entry(s, a, offset)
        and has_entry(s, b, offset)
        and s.log_record[a][offset] == s.log_record[b][offset]
        and s.log_epoch[a][offset] == s.log_epoch[b][offset]
    )


def append_entry(s, r, record, epoch):
    s.log_record[r][s.log_end_offset[r]] = record
    s.log_epoch[r][s.log_end_offset[r]] = epoch
    s.log_end_offset[r] += 1


def cut_log(s, r, end_offset):
    """Cut a log at `end_offset`. The cells from `end_offset` on become NONE, so that equal logs are equal states."""
    for offset in range(s.log_size):
        if offset >= end_offset:
            s.log_record[r][offset] = NONE
            s.log_epoch[r][offset] = NONE
    s.log_end_offset[r] = min(s.log_end_offset[r], end_offset)


def logs_match(s):
    """Whether any two logs with the same epoch at an offset have equal entries up to it, wherever both have entries."""
    return all(
        same_entry(s, a, b, below)
        for a in range(s.replicas)
        for b in range(s.replicas)
        if a < b
        for offset in range(s.log_size)
        if has_entry(s, a, offset) and has_entry(s, b, offset) and s.log_epoch[a][offset] == s.log_epoch[b][offset]
        for below in range(s.log_size)
        if below <= offset and has_entry(s, a, below) and has_entry(s, b, below)
    )
