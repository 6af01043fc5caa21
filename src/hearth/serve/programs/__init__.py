"""What other programs speak to a home, each protocol over the one desk.

In: requests of programs that the door let in. Out: answers in their protocol's form.
Here: `openai_api` (OpenAI's protocol, with plans over a program's functions), `home_api` and `home_link` (the home's
own commands, from other processes), `mcp_server` (the Model Context Protocol), `wyoming_service` (voice satellites).
Not here: who may come in (`serve.door`), what is asked about and allowed (`guard`).
"""
