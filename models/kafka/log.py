"""The vocabulary of a log: what it holds, how it grows, how it is cut."""

from models.language import NONE


def has_entry(s, r, offset):
    return offset < s.log_end_offset[r]


def same_entry(s, a, b, offset):
    """Both hold an entry at this offset, and it is the same one."""
    return (
        has_entry(s, a, offset)
        and has_entry(s, b, offset)
        and s.log_record[a][offset] == s.log_record[b][offset]
        and s.log_epoch[a][offset] == s.log_epoch[b][offset]
    )


def holds_record(s, r, record):
    return any(s.log_record[r][offset] == record for offset in range(s.log_size))


def append_entry(s, r, record, epoch):
    s.log_record[r][s.log_end_offset[r]] = record
    s.log_epoch[r][s.log_end_offset[r]] = epoch
    s.log_end_offset[r] += 1


def truncate_log(s, r, end_offset):
    """Cut a log at `end_offset` (Log.truncateTo); cells above it are emptied, so that equal logs are equal states."""
    for offset in range(s.log_size):
        if offset >= end_offset:
            s.log_record[r][offset] = NONE
            s.log_epoch[r][offset] = NONE
    s.log_end_offset[r] = min(s.log_end_offset[r], end_offset)
    if s.HW_CLAMPED_AT_TRUNCATION:
        s.high_watermark[r] = min(s.high_watermark[r], s.log_end_offset[r])
