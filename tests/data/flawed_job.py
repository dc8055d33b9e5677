"""A pipeline with flaws: by a record's sequence, the splitter loses some and sends some the wrong way, the persisters double some and damage some."""

import json
import sys
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

LOST, STRAYED, DOUBLED, DAMAGED = 7, 17, 11, 13
"""Those of which the sequence leaves this, divided by 100."""

settings = json.loads(Path(sys.argv[1]).read_text())
spark = SparkSession.builder.appName("flawed").getOrCreate()


def read(topic: str) -> DataFrame:
    stream = spark.readStream.format("kafka").option("kafka.bootstrap.servers", settings["brokers"])
    records = stream.option("subscribe", topic).option("startingOffsets", "earliest").load().select("value")
    return records.withColumn("rest", F.conv(F.hex(F.substring("value", 13, 4)), 16, 10).cast("long") % 100)


def write(records: DataFrame, name: str) -> None:
    stream = records.writeStream.format("kafka").option("kafka.bootstrap.servers", settings["brokers"])
    stream.option("checkpointLocation", f"{settings['checkpoints']}/{name}").start()


level = F.lower(F.trim(F.substring("value", 25, 8).cast("string")))
branches = settings["branches"]
topic = F.element_at(F.create_map(*(F.lit(part) for pair in branches.items() for part in pair)), level)
strayed = F.when(F.col("rest") == STRAYED, F.lit(branches["error"])).otherwise(topic)
write(read(settings["input"]).filter(F.col("rest") != LOST).select("value", strayed.alias("topic")), "splitter")
copies = F.explode(F.when(F.col("rest") == DOUBLED, F.array(F.lit(0), F.lit(1))).otherwise(F.array(F.lit(0))))
damaged = F.expr(f"case when rest = {DAMAGED} then overlay(value placing X'00FF00FF' from 41) else value end")
for name, branch in branches.items():
    persisted = read(branch).select(damaged.alias("value"), copies.alias("copy"))
    write(persisted.select("value", F.lit(settings["aggregate"]).alias("topic")), f"persist-{name}")
# Warm before it says so: the first look at a topic takes seconds.
spark.read.format("kafka").option("kafka.bootstrap.servers", settings["brokers"]).option("subscribe", settings["input"]).load().count()
Path(settings["ready"]).touch()
spark.streams.awaitAnyTermination()
