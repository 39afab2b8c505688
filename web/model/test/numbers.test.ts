import { describe, expect, it } from "vitest";
import {
  formatAge,
  formatClock,
  formatCount,
  formatDuration,
  formatPercent,
  formatTime,
  NARROW_SPACE,
} from "../src/index.ts";

const shown = (text: string): string => text.replaceAll(NARROW_SPACE, "_");

describe("formatTime", () => {
  it.each([
    [0, "·"],
    [0.25, "0.25_ns"],
    [1, "1.00_ns"],
    [53.1, "53.1_ns"],
    [999.4, "999_ns"],
    [999.6, "1.00_µs"],
    [941_000, "941_µs"],
    [999_499, "999_µs"],
    [999_501, "1.00_ms"],
    [9_994_000, "9.99_ms"],
    [9_996_000, "10.0_ms"],
    [99_940_000, "99.9_ms"],
    [99_960_000, "100_ms"],
    [180e6, "180_ms"],
    [12.7e9, "12.7_s"],
    [614e9, "614_s"],
    [1412e9, "1,412_s"],
    [3599.4e9, "3,599_s"],
    [3599.6e9, "1.00_h"],
    [97.2 * 3600e9, "97.2_h"],
    [1e6 * 3600e9, "1,000,000_h"],
    [-180e6, "\u2212180_ms"],
    [Number.NaN, "?"],
    [Number.POSITIVE_INFINITY, "?"],
  ])("WHEN %d ns are shown THEN it is %s", (ns, text) => {
    expect(shown(formatTime(ns).text)).toBe(text);
  });

  it("WHEN a time is shown THEN number and unit are apart for columns", () => {
    expect(formatTime(180e6)).toEqual({ number: "180", unit: "ms", text: "180\u202fms" });
    expect(formatTime(0)).toEqual({ number: "·", unit: "", text: "·" });
  });
});

describe("formatDuration", () => {
  it.each([
    [0, "0_s"],
    [1.2e9, "1.20_s"],
    [89.9e9, "89.9_s"],
    [90e9, "1_min 30_s"],
    [372e9, "6_min 12_s"],
    [120e9, "2_min"],
    [3599.6e9, "1_h"],
    [7500e9, "2_h 5_min"],
    [86399e9, "1_d"],
    [76 * 3600e9, "3_d 4_h"],
    [-372e9, "\u22126_min 12_s"],
  ])("WHEN %d ns are told THEN it is %s", (ns, text) => {
    expect(shown(formatDuration(ns))).toBe(text);
  });
});

describe("formatAge", () => {
  it.each([
    [-3, "0_s"],
    [0.9, "0_s"],
    [89.9, "89_s"],
    [90, "1_min"],
    [3599, "59_min"],
    [7500, "2_h 5_min"],
    [76 * 3600, "3_d 4_h"],
  ])("WHEN something has been there for %d s THEN it is %s", (seconds, text) => {
    expect(shown(formatAge(seconds))).toBe(text);
  });
});

describe("formatPercent", () => {
  it.each([
    [0, "·"],
    [0.0004, "<0.1_%"],
    [0.0005, "0.1_%"],
    [0.162, "16.2_%"],
    [0.9999, "100.0_%"],
    [1, "100.0_%"],
    [12.5, "1,250.0_%"],
    [-0.05, "\u22125.0_%"],
    [Number.NaN, "?"],
  ])("WHEN the share %d is shown THEN it is %s", (share, text) => {
    expect(shown(formatPercent(share).text)).toBe(text);
  });
});

describe("counts and clock", () => {
  it.each([
    [0, "·"],
    [7, "7"],
    [1412, "1,412"],
    [21_890_535, "21,890,535"],
    [-1412, "\u22121,412"],
  ])("WHEN %d things are counted THEN it is %s", (count, text) => {
    expect(formatCount(count)).toBe(text);
  });

  it("WHEN an instant is shown THEN it is a time of day", () => {
    const noon = new Date(2026, 0, 2, 12, 4, 5).getTime();
    expect(formatClock(noon, 0)).toBe("12:04:05");
    expect(formatClock(noon, 61.5e9)).toBe("12:05:06");
  });
});
