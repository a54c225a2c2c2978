# SPDX-License-Identifier: GPL-2.0-or-later
#
# Reads a profile.proto from stdin with Google's own library, and prints it as JSON. Strings that
# aren't UTF-8 end it, as do fields that the format doesn't have, numbers of nothing, and ids that
# leave one out.
import json
import sys

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

INT64, UINT64, BOOL, STRING, MESSAGE = 3, 4, 8, 9, 11
# https://github.com/google/pprof/blob/main/proto/profile.proto; a * is for "repeated"
MESSAGES = {
    "Profile": "1 sample_type* ValueType, 2 sample* Sample, 3 mapping* Mapping, 4 location* Location,"
               "5 function* Function, 6 string_table* s, 7 drop_frames i, 8 keep_frames i, 9 time_nanos i,"
               "10 duration_nanos i, 11 period_type ValueType, 12 period i, 13 comment* i, 14 default_sample_type i",
    "ValueType": "1 type i, 2 unit i",
    "Sample": "1 location_id* u, 2 value* i, 3 label* Label",
    "Label": "1 key i, 2 str i, 3 num i, 4 num_unit i",
    "Mapping": "1 id u, 2 memory_start u, 3 memory_limit u, 4 file_offset u, 5 filename i, 6 build_id i,"
               "7 has_functions b, 8 has_filenames b, 9 has_line_numbers b, 10 has_inline_frames b",
    "Location": "1 id u, 2 mapping_id u, 3 address u, 4 line* Line, 5 is_folded b",
    "Line": "1 function_id u, 2 line i",
    "Function": "1 id u, 2 name i, 3 system_name i, 4 filename i, 5 start_line i",
}
SCALARS = {"i": INT64, "u": UINT64, "b": BOOL, "s": STRING}


def profile_class():
    file = descriptor_pb2.FileDescriptorProto(name="profile.proto", package="p", syntax="proto3")
    for name, fields in MESSAGES.items():
        message = file.message_type.add(name=name)
        for field in fields.split(","):
            number, title, kind = field.split()
            f = message.field.add(name=title.rstrip("*"), number=int(number), label=3 if title.endswith("*") else 1)
            f.type = SCALARS.get(kind, MESSAGE)
            if f.type == MESSAGE:
                f.type_name = ".p." + kind
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    descriptor = pool.FindMessageTypeByName("p.Profile")
    if hasattr(message_factory, "GetMessageClass"):
        return message_factory.GetMessageClass(descriptor)
    return message_factory.MessageFactory(pool).GetPrototype(descriptor)


def by_id(items, what):
    # Parca refuses others
    assert [item.id for item in items] == list(range(1, len(items) + 1)), what + ": ids that aren't 1, 2, 3, ..."
    return {item.id: item for item in items}


data = sys.stdin.buffer.read()
p = profile_class()()
p.ParseFromString(data)
whole = p.SerializeToString() # ByteSize() may be kept from before
p.DiscardUnknownFields()
assert p.SerializeToString() == whole, "fields that the format doesn't have"
s = p.string_table
assert s[0] == "" and len(set(s)) == len(s), "the string table"
mappings, locations, functions = by_id(p.mapping, "mapping"), by_id(p.location, "location"), by_id(p.function, "function")


def frame(i):
    at = locations[i]
    assert len(at.line) == 1
    f = functions[at.line[0].function_id]
    assert s[f.system_name] == ""
    m = mappings[at.mapping_id] if at.mapping_id else None
    return [s[f.name], s[f.filename], at.line[0].line, at.address, s[m.filename] if m else None, m.has_functions if m else None]


json.dump({
    "types": [[s[t.type], s[t.unit]] for t in p.sample_type],
    "default": s[p.default_sample_type],
    "period": [s[p.period_type.type], s[p.period_type.unit], p.period],
    "time": p.time_nanos,
    "duration": p.duration_nanos,
    "samples": [[list(x.value), [frame(i) for i in x.location_id], [[s[l.key], s[l.str]] for l in x.label]] for x in p.sample],
    "listed": [len(p.mapping), len(p.location), len(p.function)],
}, sys.stdout)
