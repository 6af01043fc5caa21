"""Guard: nothing happens that the owner's policy does not allow.

It rules on calls, asks for the owner's consent, and holds the only caller of tools and the only way out to the network.
The guard watches planners and tools, so none of them can import it. Rules are exact tool names, the default is to ask
or to deny, and every ruling gives its reason.
"""
