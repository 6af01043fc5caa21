"""Expert models: each looks at pictures or listens to sound and reports what is there, on the processor, offline.

Making an expert is free; it loads its model when first used. `hearth.protocols.Expert` is the interface,
`hearth.testing.check_expert` the contract. Experts know neither the store nor the tools: `hearth_video.footage` runs
them over recordings. Their packages are extras; a missing one is reported with the pip command.
"""
