import { goldenUpdates, recordingLines } from "@flamelet/testing";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { BadRecording, readRecording, Store } from "../src/index.ts";

describe("readRecording", () => {
  it("GIVEN the golden recording WHEN it is read THEN the store is that of the last update", () => {
    const recording = readRecording(recordingLines());
    expect(recording).toMatchObject({ updates: 5, complete: true, truncated: false });
    expect(recording.session?.program).toBe("app.py");
    expect(recording.store.now).toBe(goldenUpdates().at(-1)!.now);
    expect(recording.store.status?.state).toBe("ended");
  });

  it("GIVEN a recording cut anywhere WHEN it is read THEN everything before the cut is there", () => {
    const text = recordingLines().join("\n");
    const firstEnd = text.indexOf("\n");
    fc.assert(
      fc.property(fc.integer({ min: firstEnd, max: text.length - 1 }), (cut) => {
        const lines = text.slice(0, cut).split("\n");
        const recording = readRecording(lines);
        const whole = lines.filter((line) => recordingLines().includes(line)).length;
        expect(recording.updates).toBe(Math.max(0, Math.min(whole - 2, 5)));
        expect(recording.truncated).toBe(lines.at(-1) !== "" && whole !== lines.length);
        expect(recording.complete).toBe(false);
      }),
    );
  });

  it("GIVEN an instant to stop at WHEN it is read THEN the store is as of then", () => {
    const store = new Store();
    const recording = readRecording(recordingLines(), {
      store,
      onMessage: (message) => message.kind !== "update" || message.update.now <= 220e6,
    });
    expect([store.now, recording.updates]).toEqual([220e6, 2]);
  });

  const damaged: [string, (lines: string[]) => string[], RegExp][] = [
    ["an empty file", () => [], /no message of flamelet/],
    ["only blank lines", () => ["", ""], /no message of flamelet/],
    ["another kind of file", () => ["hello"], /^line 1: not JSON/],
    ["JSON of another kind", () => ['{"a":1}'], /^line 1: seq: expected/],
    ["damage in the middle", (lines) => lines.with(3, lines[3]!.slice(0, 50)), /^line 4: not JSON/],
    [
      "a wrong type",
      (lines) => lines.with(2, lines[2]!.replace('"now":60000000', '"now":"x"')),
      /^line 3: body\.now/,
    ],
    [
      "a missing update",
      (lines) => lines.toSpliced(3, 1),
      /^line 4: the update builds on version 2, known is 1/,
    ],
    [
      "a contradiction",
      (lines) => lines.with(3, lines[3]!.replace('"first":12', '"first":11')),
      /^line 4: strings\.first/,
    ],
  ];
  it.each(damaged)("GIVEN %s WHEN it is read THEN the error names the line", (_, damage, message) => {
    const read = (): unknown => readRecording(damage(recordingLines()));
    expect(read).toThrow(BadRecording);
    expect(read).toThrow(message);
  });
});
