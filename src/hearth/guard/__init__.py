"""Nothing happens that the owner's policy does not allow.

Rulings, the owner's consent, the only caller of tools, the only door out. The guard watches planners and tools, so none
of them can import it. Rules are exact tool names, the default is to ask or to deny, and every ruling says why.
"""
