"""Expert models: each looks at pictures or listens to sound and says what is there, on the processor, offline.

An expert is made at no cost and loads its model when first used; `hearth.protocols.Expert` is the seam,
`hearth.testing.check_expert` the contract. Experts know neither the store nor the tools: `hearth_video.footage` runs
them over recordings. Their packages are extras; what is missing answers with the pip command.
"""
