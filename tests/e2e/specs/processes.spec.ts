/** A program that forks: each worker has a live view of its own, and the page leads from one to the other. */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { LiveView } from "../support/live-view.ts";
import { Program } from "../support/program.ts";
import { expect, test } from "../support/test.ts";

let workers: Program;
let runtime: string;

test.beforeAll(async () => {
  // Only the processes of this program are found.
  runtime = await mkdtemp(join(tmpdir(), "flamelet-e2e-"));
  workers = await Program.start(["flamelet", "run"], "workers.py", { XDG_RUNTIME_DIR: runtime });
});
test.afterAll(async () => {
  await workers.stop();
  await rm(runtime, { recursive: true });
});

test("GIVEN two forked workers WHEN one is chosen in the menu THEN the page shows what that one does", async ({
  page,
}) => {
  const view = new LiveView(page);
  await view.open(workers.url);
  await expect(view.get("live")).toHaveAttribute("data-state", "live");
  // They are listed when they have lived for a second, and the page asks every five.
  await expect(view.get("process-button")).toBeVisible({ timeout: 20_000 });
  await expect
    .poll(async () => {
      await view.get("process-button").click();
      const count = await view.get("processes").getByRole("menuitem").count();
      await view.press("Escape");
      return count;
    })
    .toBe(3);
  const pids = workers.output.trim().split("\n");

  for (const [pid, work, other] of [
    [pids[0] ?? "", "paint", "weigh"],
    [pids[1] ?? "", "weigh", "paint"],
  ] as const) {
    await view.get("process-button").click();
    await view.get("processes").locator(`[data-pid="${pid}"]`).click();
    await expect(view.get("program")).toContainText(pid);
    await expect(view.get("live")).toHaveAttribute("data-state", "live");
    await view.show("flame");
    await expect.poll(async () => (await view.flameItems()).join("\n")).toContain(`${work}, `);
    expect((await view.flameItems()).join("\n")).not.toContain(`${other}, `);
  }
  await page.screenshot({ path: "shots/processes.png" });

  // AND by the keyboard back to where it began
  await view.get("process-button").focus();
  await view.press("Enter");
  await expect(view.get("processes").locator("[aria-current]")).toBeFocused();
  await view.press("Home");
  await page.screenshot({ path: "shots/processes-menu.png" });
  await view.press("Enter");
  await expect(view.get("program")).toContainText(`${workers.pid}`);
  expect(view.complaints).toEqual([]);
  expect(view.origins.size).toBe(3);
});
