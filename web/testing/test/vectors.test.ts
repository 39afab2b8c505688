import { checkUpdate } from "@flamelet/protocol";
import { describe, expect, it } from "vitest";
import { goldenUpdates, recordingLines, replayScript, updateBetween } from "../src/index.ts";

describe("the golden messages", () => {
  const golden = goldenUpdates();
  const pictures = replayScript();

  it("GIVEN the script WHEN a core runs it THEN there is a picture for each golden update", () => {
    expect(pictures.map((picture) => picture.version)).toEqual([1, 2, 3, 4, 5]);
    expect(golden).toHaveLength(5);
  });

  it.each([0, 1, 2, 3, 4])("GIVEN the script WHEN a core runs it THEN update %i is the golden one", (i) => {
    const update = golden[i]!;
    const before = update.since === 0 ? null : pictures[i - 1]!;
    expect(updateBetween(before, pictures[i]!, update.subscription)).toEqual(update);
  });

  it("GIVEN the recording WHEN its updates are read THEN they are those of the conversation", () => {
    const updates = recordingLines()
      .map((line) => JSON.parse(line) as { event?: string; body?: unknown })
      .filter((message) => message.event === "flamelet/update")
      .map((message) => checkUpdate(message.body));
    expect(updates).toEqual(golden.map((update) => ({ ...update, subscription: 0 })));
  });
});
