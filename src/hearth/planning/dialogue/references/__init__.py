"""References of a request to what is not said in it: the request before, another thing, how something is now.

Here: `coreference` ("same for tomorrow", "the second one"), `relative_anchors` ("an hour before that"),
`relative_levels` ("louder"), `event_leads` (a reminder said with a new event).
"""
