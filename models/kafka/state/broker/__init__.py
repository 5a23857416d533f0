"""What a broker has and knows: its log and epochs, its role, its followers, its proposals to the controller.

In:  the state.
Out: predicates and updates that actions and properties share.
May import: kafka.state, kafka.state.clients.
"""
