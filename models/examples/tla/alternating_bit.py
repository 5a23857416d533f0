"""The alternating bit protocol: a message is sent again until its bit comes back, through channels that lose messages.

After specifications/SpecifyingSystems/TLC/AlternatingBit.tla by Leslie Lamport (github.com/tlaplus/Examples, MIT
license). Model file: MCAlternatingBit.cfg, with two values and at most two messages in each channel.

The same: every state, and the fairness of ABSpec. Different: a message is sent only if its channel has room. TLC sends
it all the same, and the constraint SeqConstraint drops the state. ABCSpec, which the specification implements, is left
out.
"""

from isrcheck.models.language import Domain, Queue, Record, action, bound, field, initial, leads_to, require


class Configuration:
    values = bound(2, "values to send (Data)", least=1, option="--values")
    most_messages = bound(2, "messages in the channel to the receiver (msgQLen)", least=1, option="--most-messages")
    most_acks = bound(2, "acknowledgements in the channel to the sender (ackQLen)", least=1, option="--most-acks")


class Bit(Domain, size=2):
    pass


class Value(Domain, size="values"):
    pass


class PlaceOfMessage(Domain, size="most_messages"):
    pass


class PlaceOfAck(Domain, size="most_acks"):
    pass


class Message(Record):
    bit = field(values=Bit)
    value = field(values=Value)


class State:
    messages = field(values=Queue(of=Message, most="most_messages"))  # msgQ
    acks = field(values=Queue(of=Bit, most="most_acks"))  # ackQ
    sender_bit = field(values=Bit)  # sBit
    sender_ack = field(values=Bit)  # sAck
    receiver_bit = field(values=Bit)  # rBit
    sent = field(values=Value)
    received = field(values=Value)  # rcvd


@initial
def anything_was_sent(s, bit: Bit, sent: Value, received: Value):
    s.sender_bit = bit
    s.sender_ack = bit
    s.receiver_bit = bit
    s.sent = sent
    s.received = received


@action
def send_new_value(s, value: Value):
    require(s.sender_ack == s.sender_bit)
    require(len(s.messages) < s.most_messages)
    s.sent = value
    s.sender_bit = 1 - s.sender_bit
    s.messages.append(Message(bit=s.sender_bit, value=value))


@action(fair=True)
def resend_message(s):
    require(s.sender_ack != s.sender_bit)
    require(len(s.messages) < s.most_messages)
    s.messages.append(Message(bit=s.sender_bit, value=s.sent))


@action(fair="strong")
def receive_message(s):
    require(len(s.messages) > 0)
    s.receiver_bit = s.messages[0].bit
    s.received = s.messages[0].value
    s.messages.popleft()


@action(fair=True)
def send_ack(s):
    require(len(s.acks) < s.most_acks)
    s.acks.append(s.receiver_bit)


@action(fair="strong")
def receive_ack(s):
    require(len(s.acks) > 0)
    ack = s.acks.popleft()
    s.sender_ack = ack


@action
def lose_message(s, place: PlaceOfMessage):
    size = len(s.messages)
    require(place < size)
    for at in PlaceOfMessage:
        if at < size:
            bit = s.messages[0].bit
            value = s.messages[0].value
            s.messages.popleft()
            if at != place:
                s.messages.append(Message(bit=bit, value=value))


@action
def lose_ack(s, place: PlaceOfAck):
    size = len(s.acks)
    require(place < size)
    for at in PlaceOfAck:
        if at < size:
            bit = s.acks.popleft()
            if at != place:
                s.acks.append(bit)


def first_value_is_under_way(s):
    return s.sent == 0 and s.sender_bit != s.sender_ack


def second_value_is_under_way(s):
    return s.sent == 1 and s.sender_bit != s.sender_ack


@leads_to(when=first_value_is_under_way)
def first_value_is_received(s):
    """SentLeadsToRcvd, for one value."""
    return s.received == 0


@leads_to(when=second_value_is_under_way)
def second_value_is_received(s):
    """SentLeadsToRcvd, for the other value."""
    return s.received == 1
