"""Reads an OTF2 archive with OTF2's own reader, and prints as JSON: messages that were sent and received, collectives, places of calls, and if the
calls of each thread lie within each other."""
import json
import sys
from collections import Counter

import otf2
from otf2.events import (Enter, Leave, MpiCollectiveEnd, MpiIrecv, MpiIsend, MpiRecv, MpiSend, NonBlockingCollectiveComplete)


def rank(location):
    return int(location.group.name.split()[1])


sent, received, collectives = Counter(), Counter(), Counter()
stacks, last, ordered = {}, {}, True
with otf2.reader.open(sys.argv[1]) as archive:
    ranks = {group.name: group for group in archive.definitions.location_groups}
    places = sorted({f"{region.name} {region.source_file}:{region.begin_line_number}" for region in archive.definitions.regions if region.source_file})
    for location, event in archive.events:
        stack = stacks.setdefault(location.name, [])
        ordered &= event.time >= last.get(location.name, 0)
        last[location.name] = event.time
        own = rank(location)
        if isinstance(event, Enter):
            stack.append(event.region.name)
        elif isinstance(event, Leave):
            ordered &= bool(stack) and stack.pop() == event.region.name
        elif isinstance(event, (MpiSend, MpiIsend)):
            peer = rank(event.communicator.group.members[event.receiver])
            sent[f"{event.communicator.name} {own}>{peer} {event.msg_tag} {event.msg_length}"] += 1
        elif isinstance(event, (MpiRecv, MpiIrecv)):
            peer = rank(event.communicator.group.members[event.sender])
            received[f"{event.communicator.name} {peer}>{own} {event.msg_tag} {event.msg_length}"] += 1
        elif isinstance(event, (MpiCollectiveEnd, NonBlockingCollectiveComplete)):
            collectives[str(event.collective_op).split(".")[-1]] += 1
    ordered &= all(not stack for stack in stacks.values())
print(json.dumps({"sent": sent, "received": received, "collectives": collectives, "places": places, "ranks": len(ranks), "ordered": ordered}))
